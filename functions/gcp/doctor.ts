import { doctor as diagnose, isFailing } from '../doctor.ts';
import { manualHandler, type HttpHandler, forwardQuestion, httpFunction } from './http.ts';
import { type GcpDependencies, lazyDependencies, readGcpFunctionEnvironment } from './dependencies.ts';

export const doctor = (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  manualHandler(
    getDependencies,
    (question, dependencies, limit) => diagnose(async () => dependencies)(question, limit),
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

const here = doctor(lazyDependencies());

export const handler = httpFunction((request, limit) =>
  asksOthers() ? forwardQuestion(readGcpFunctionEnvironment)(request, limit) : here(request, limit),
);
