"""Point-in-time joins: `feature` is what is asked, `sides` are what is joined, `knowing` is what
each row could know, `plan` and `sql` say how they meet, `join` does it."""
