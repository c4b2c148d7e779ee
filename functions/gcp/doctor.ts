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
 * Returns whether the doctor forwards its questions. A deployed doctor runs as an account that may only ask the
 * function that fences. On a laptop it runs the checks itself.
 */
const forwardsQuestions = (): boolean => {
  const { inCloudRun, askedAt } = readGcpFunctionEnvironment();
  return inCloudRun && askedAt !== null;
};

const localDoctor = doctor(lazyDependencies());

export const handler = httpFunction((request, limit) =>
  forwardsQuestions() ? forwardQuestion(readGcpFunctionEnvironment)(request, limit) : localDoctor(request, limit),
);
