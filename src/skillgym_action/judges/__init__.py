"""The judge, a model that graders ask: what it is asked, in which form it answers, how services want that written."""
