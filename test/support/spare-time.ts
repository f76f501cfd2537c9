import { setPriority } from 'node:os'

// Before the checks of scripts/check.mjs, which have the lowest priority.
setPriority(5)
