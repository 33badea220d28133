"""Release: the dataset card, the check before publishing, and the push to the Hub."""
