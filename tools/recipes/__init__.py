"""How every shipped number is remade: one table of recipes, and the command `make remake NAME=...`.

recipe      what a recipe is, how one is followed, and the one place where what it made is written
book        the table of recipes
runs        finished runs onto their shelves in data/, and the tables of the sweeps
measured    what is measured on runs, shipped or trained
published   what is measured on the weights of the study's own run, which are not shipped
branches    training that goes on from a step with one change: chapters 7, 11 and 17
theory      the tables of chapter 13
starts      one of them: what the theorem's step does from the measured start
pictures    the pictures of the README, of lecturers' pages, and of links to the book
"""
