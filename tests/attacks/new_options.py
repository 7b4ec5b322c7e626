"""The options by which the server is to defend itself, each in one place.

A server that lacks one refuses to start with it, and the test that passes it fails by that.
`pytest --drop-unknown-options` leaves out those that the server lacks, and shows the attack.
"""


def write_idle_ms(ms):
    return f"--write-idle-timeout-ms={ms}"


def message_ms(ms):
    """From a message's first byte to its last."""
    return f"--message-timeout-ms={ms}"


def min_bytes_per_s(rate):
    """Of what a client sends or reads; slower ones end."""
    return f"--min-bytes-per-s={rate}"


def exit_when_unready_ms(ms):
    return f"--exit-when-unready-ms={ms}"


def reflection_streams_max(count):
    return f"--max-reflection-streams={count}"


def health_watches_max(count):
    return f"--max-health-watches={count}"


def log_malformed_per_s(rate):
    """Lines for messages that are none."""
    return f"--log-malformed-per-s={rate}"
