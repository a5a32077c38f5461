"""How many retries the router may add to the load: a share of the requests, plus a small reserve.

Without a budget every request of an overloaded fleet is sent several times, which keeps it
overloaded. Retries so far <= percent / 100 * first attempts so far + reserve, at every moment. The
reserve is never given back by waiting: a service with few requests may retry `reserve` times in
all, and earns the rest.
"""


class RetryBudget:
    """A balance of tokens: a first attempt pays in percent / 100, a retry takes out 1.

    `reserve` is the balance at the start (0 when percent is 0: no retries at all). `most` caps the
    balance, so that hours of quiet do not add up to a storm; it should cover the requests that fail
    together when one instance dies.
    """

    __slots__ = ("_most", "_percent", "balance")

    def __init__(self, percent: float, *, reserve: float = 10.0, most: float = 100.0) -> None:
        self._percent = percent
        self._most = max(reserve, most)
        self.balance = reserve if percent > 0 else 0.0

    def deposit(self) -> None:
        """To be called once for each request, at its first attempt."""
        self.balance = min(self._most, self.balance + self._percent / 100)

    def withdraw(self) -> bool:
        """Whether one retry may be made now; True has taken it."""
        if self._percent <= 0 or self.balance < 1:
            return False
        self.balance -= 1
        return True

    def update(self, percent: float) -> None:
        """A reload changed retry.budget_percent; the balance stays."""
        self._percent = percent
