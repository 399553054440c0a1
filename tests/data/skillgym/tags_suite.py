from skillgym_action import Suite

suite = Suite()


@suite.case("login-smoke", tags=["smoke", "auth"], prompt="Verify the login screen behavior.")
def login_smoke():
    pass
