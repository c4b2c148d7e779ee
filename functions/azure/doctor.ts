import { doctor as diagnose, isFailing } from '../doctor.ts';
import { byHand, type HttpFunction } from './http.ts';
import type { Wired } from './wiring.ts';

export const doctor = (wired: Wired): HttpFunction =>
  byHand(wired, (question, { wiring }) => diagnose(async () => wiring)(question), (answer) => (isFailing(answer) ? 500 : 200));
