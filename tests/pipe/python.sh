# python.sh -- sourced by tests that read the stacks of a Python program, after tests/tap/setup.sh. Ends the test with a skip where
# no Python is there whose stacks can be read, or none that loads our libraries.
if [ -n "$GP_SANITIZED" ]; then
    skip_all='Python does not load sanitized libraries'
    test_done
fi
python3 -c 'import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 15))' 2>/dev/null || {
    skip_all='no CPython 3.9 to 3.15'
    test_done
}
