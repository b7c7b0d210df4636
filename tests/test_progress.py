from tagloom.progress import progress_bar


def test_nothing_is_drawn_outside_a_terminal(capsys):
    for show in (True, False):
        with progress_bar(3, "Embedding", show=show, unit="pictures") as advance:
            for _ in range(3):
                advance()
    assert capsys.readouterr().out == ""
