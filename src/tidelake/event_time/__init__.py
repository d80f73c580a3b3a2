"""The second clock: `facts` come in, `history` and `belief_changes` tell what was true and when
that was known; `rollups` keep states so that old moments stay cheap.
"""
