import { faultsShowing } from '../../events/reading.ts';
import { outlineOf } from './outline.ts';

export const { fault, unreadable } = faultsShowing(outlineOf);
