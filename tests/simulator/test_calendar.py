import datetime as dt

from simulator.calendar import DAY, HOUR, Calendar, ordinal

LONDON = Calendar(dt.date(2026, 1, 5), "Europe/London")


def test_days_are_said_with_weekday_and_ending():
    assert LONDON.words(0) == "Monday the 5th"
    assert LONDON.words(17 * DAY) == "Thursday the 22nd"
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 31)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "31st",
    ]  # fmt: skip


def test_iso_times_carry_the_zones_offset_of_that_day():
    assert LONDON.iso(9 * HOUR) == "2026-01-05T09:00:00+00:00"
    assert LONDON.iso(120 * DAY + 9 * HOUR) == "2026-05-05T09:00:00+01:00"


def test_the_date_brings_conditions():
    assert LONDON.scopes(0) == {"weekday", "start_of_month"}
    assert LONDON.scopes(4 * DAY) == {"weekday", "fridays"}
    assert LONDON.scopes(5 * DAY) == {"weekend"}
