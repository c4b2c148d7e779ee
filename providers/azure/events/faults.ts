import { faultsShowing } from '../../events/reading.ts';
import { excerptOf } from './excerpt.ts';

export const { fault, unreadable } = faultsShowing(excerptOf);
