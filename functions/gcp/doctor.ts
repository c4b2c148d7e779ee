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

/** Deployed, it runs as an account that may do nothing but ask; called on a laptop, it looks for itself. */
const asksOthers = (): boolean => {
  const { inCloudRun, askedAt } = readGcpFunctionEnvironment();
  return inCloudRun && askedAt !== null;
};

const here = doctor(wireOnce());

export const handler = httpFunction((request, limit) =>
  asksOthers() ? asking(readGcpFunctionEnvironment)(request, limit) : here(request, limit),
);
