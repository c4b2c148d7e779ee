import { sweep as sweepAll } from '../sweep.ts';
import { type HttpHandler, httpFunction, isDoctorQuestion, rejectUnauthorized } from './http.ts';
import { doctor } from './doctor.ts';
import { type GcpDependencies, lazyDependencies } from './dependencies.ts';

/**
 * Runs the sweep for Cloud Scheduler, which treats any 2xx as success. The doctor function also sends its questions
 * here, because this function runs as the account that fences. The doctor's account may only ask its questions.
 */
export const sweep =
  (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  async (request, limit) => {
    const dependencies = await getDependencies();
    if (isDoctorQuestion(request.body))
      return (
        (await rejectUnauthorized(request, { ...dependencies, letIn: dependencies.letAsk })) ??
        doctor(getDependencies)(request, limit)
      );
    return (
      (await rejectUnauthorized(request, dependencies)) ?? {
        status: 200,
        body: await sweepAll(async () => dependencies)(null, limit),
      }
    );
  };

export const handler = httpFunction(sweep(lazyDependencies()));
