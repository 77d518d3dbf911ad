"""Every operation of the client, once: generators that `blocking` and `awaiting` make methods of."""
