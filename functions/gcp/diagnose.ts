import { diagnose as diagnoseWith } from '../diagnose.ts';
import { manualHandler, type HttpHandler, httpFunction } from './http.ts';
import { type GcpDependencies, lazyDependencies } from './dependencies.ts';

/** Says why pods wait for their volumes: `{"target": "pod/prod/db-0"}`. */
export const diagnose = (getDependencies: () => Promise<GcpDependencies>): HttpHandler =>
  manualHandler(getDependencies, (asked, dependencies, limit) => diagnoseWith(async () => dependencies)(asked, limit));

export const handler = httpFunction(diagnose(lazyDependencies()));
