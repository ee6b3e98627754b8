"""Where summaries come from: the embedded summarizer, models behind an API, a user's own callable."""
