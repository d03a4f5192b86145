"""Attack the public calls from outside (`dimfree audit`), and check the installation (`dimfree doctor`)."""
