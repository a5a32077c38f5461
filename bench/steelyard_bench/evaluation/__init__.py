"""Every policy on every trace, in virtual time: runs, figures, and the page that shows them."""
