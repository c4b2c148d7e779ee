import { doctor as diagnose, isFailing } from '../doctor.ts';
import { readGcpFunctionEnvironment } from '../../config/environment.ts';
import { answering, type Answering, asking, httpFunction } from './http.ts';
import { type GcpWiring, wireOnce } from './wire.ts';

export const doctor = (wired: () => Promise<GcpWiring>): Answering =>
  answering(
    wired,
    (question, wiring) => diagnose(async () => wiring)(question),
    (answer) => (isFailing(answer) ? 500 : 200),
  );

/**
 * Reports whether the doctor forwards its questions. A deployed doctor runs as an account that may only ask the
 * function that fences. On a laptop it runs the checks itself.
 */
const asksOthers = (): boolean => {
  const { inCloudRun, askedAt } = readGcpFunctionEnvironment();
  return inCloudRun && askedAt !== null;
};

const here = doctor(wireOnce());

export const handler = httpFunction((request, limit) =>
  asksOthers() ? asking(readGcpFunctionEnvironment)(request, limit) : here(request, limit),
);
