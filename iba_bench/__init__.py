"""The ground floor of iba-bench: streams, errors, tables, storage and the command's dispatcher."""
