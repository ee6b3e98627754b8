"""Where summaries come from: the embedded extract, models behind an API, a user's own callable."""
