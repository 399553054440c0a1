"""Rewards: what tests may write, and what is no reward."""

from __future__ import annotations

import pytest

from skillgym_action.suites.harbor.verifier import NoRewardError, Reward, reward_of_json, reward_of_text


@pytest.mark.parametrize(
    ("content", "reward"),
    [(b"1", 1), (b" 0.25\n", 0.25), (b"1e-1", 0.1), (b".5", 0.5)],
)
def test_a_text_is_one_number(content, reward):
    assert reward_of_text(content) == Reward(value=reward)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "reward.txt is empty"),
        (b" \n", "reward.txt is empty"),
        (b"passed", "reward.txt is not a number: 'passed'"),
        (b"1 2", "reward.txt is not a number: '1 2'"),
        (b"1\n0", "reward.txt is not a number: '1\\\\n0'"),
        (b"1_0", "reward.txt is not a number: '1_0'"),
        (b"nan", "reward.txt is not a number: 'nan'"),
        (b"inf", "reward.txt is not a number: 'inf'"),
        (b"1e999", "reward.txt is inf, and must be a number from 0 to 1"),
        (b"-3", "reward.txt is -3, and must be a number from 0 to 1"),
        (b"57.5", "reward.txt is 57.5, and must be a number from 0 to 1"),
        (b"\xff\xfe", "reward.txt is not a number"),
    ],
)
def test_a_text_that_is_no_reward(content, message):
    with pytest.raises(NoRewardError, match=message.replace("'", ".")):
        reward_of_text(content)


@pytest.mark.parametrize(
    ("content", "reward"),
    [
        (b'{"reward": 1}', Reward(value=1)),
        (b'{"accuracy": 0.5}', Reward(value=0.5)),
        (b'{"speed": 9, "reward": 0.5}', Reward(value=0.5, others=(("speed", 9),))),
    ],
)
def test_json_has_the_reward_or_one_number(content, reward):
    assert reward_of_json(content) == reward


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "reward.json is empty"),
        (b"{", "reward.json is not JSON"),
        (b"1", "reward.json has to be an object"),
        (b"{}", "reward.json has to be an object"),
        (b"[1]", "reward.json has to be an object"),
        (b'{"a": 1, "b": 0}', "reward.json has several numbers and none is called reward: 'a', 'b'"),
        (b'{"reward": "1"}', "reward.json: 'reward' is '1', not a number from 0 to 1"),
        (b'{"reward": true}', "reward.json: 'reward' is true, not a number from 0 to 1"),
        (b'{"passed": false}', "reward.json: 'passed' is false, not a number from 0 to 1"),
        (b'{"reward": 1, "compiled": true}', "reward.json: 'compiled' is not a number"),
        (b'{"reward": null}', "reward.json: 'reward' is null, not a number from 0 to 1"),
        (b'{"reward": NaN}', "reward.json: 'reward' is nan, and must be a number from 0 to 1"),
        (b'{"reward": 12}', "reward.json: 'reward' is 12, and must be a number from 0 to 1"),
        (b'{"reward": 0, "reward": 1}', "reward.json: 'reward' is there twice"),
        (b'{"accuracy": 87}', "reward.json: 'accuracy' is 87, and must be a number from 0 to 1"),
        (b'{"reward": 1, "other": Infinity}', "reward.json: 'other' is not finite"),
        (b'{"reward": 1, "other": 1' + b"0" * 400 + b"}", "reward.json: 'other' is not finite, or too large"),
        (b"[" * 100_000, "reward.json is not JSON"),
    ],
)
def test_json_that_is_no_reward(content, message):
    with pytest.raises(NoRewardError) as raised:
        reward_of_json(content)
    assert message in str(raised.value)
