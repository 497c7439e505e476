"""A cluster in a box: network namespaces with their own sshd and Docker Engine on one Linux machine.

``docs/how-to/lab.md`` tells how to use it; :class:`lab.cluster.Lab` is the way in from Python.
"""
