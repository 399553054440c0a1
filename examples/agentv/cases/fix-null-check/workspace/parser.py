def items(text):
    """The items of a list with commas; None has none."""
    return text.split(",")
