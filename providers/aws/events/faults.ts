import { inspect } from 'node:util';
import { faultsShowing } from '../../events/reading.ts';

export const { fault, unreadable } = faultsShowing((raw) => inspect(raw, { depth: 3, breakLength: Infinity }).slice(0, 300));
