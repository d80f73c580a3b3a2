"""Delta: tables published as Delta logs (`mirror`), Delta tables brought into a lake
(`importing`), and a lake made anew from its logs (`recovery`).
"""
