import { checksOf } from '../../wiring/checks.ts';
import type { Output } from '../answer.ts';
import { withSession, type CommonOptions } from '../session.ts';

/** Says in words whether a fence would work from here. */
export const doctor = (options: CommonOptions, output: Output): Promise<number> =>
  withSession(options, output, async ({ kit, clusters, ports }) => {
    const checks = await checksOf(kit, clusters, ports.signal);
    if (options.json) output.line(JSON.stringify({ checks }));
    else for (const { what, ok, says } of checks) output.line(`${ok ? 'ok  ' : 'FAIL'}  ${what}  — ${says}`);
    return checks.every(({ ok }) => ok) ? 0 : 1;
  });
