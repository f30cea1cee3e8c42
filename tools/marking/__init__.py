"""Assignments from the chapters, and marks for what students hand in: `make assignments` and `make mark SUBMISSIONS=folder`.

The engine is nbgrader: it keeps the assignments and the gradebook.  What it lacks stands here:

    assignments    a chapter's exercises, and the notebook that students get
    submission     a notebook that was handed in, whatever state it is in
    channel        what may pass between the marker and a student's process
    sandbox        a student's process: limits, and no way out of its folder
    landlock       what Linux itself forbids a process to write, where it can
    seccomp        the system calls that it leaves to a process, where it can
    judge          the verdicts on one notebook; the checks run here, the student's functions there
    gradebook      nbgrader: verdicts become grades
    report         the table of marks and a page for each student
"""
