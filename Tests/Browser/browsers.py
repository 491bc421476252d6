"""The browser that a check drives."""


def browser(name):
    """One tab of Debian's Chromium or Firefox. Each is imported only where it is used."""
    if name == "firefox":
        from firefox import Firefox

        return Firefox()
    from chromium import Chromium

    return Chromium()
