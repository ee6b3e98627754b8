"""The shell around the pure core: sessions remembered, flows driven, ports called."""
