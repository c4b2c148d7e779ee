import { actionOf } from './changes.ts';
import type { GateResponse, Handling, GateRequest } from './gate.ts';

/**
 * Changes what EC2 says about instances for the first `times` questions. This is for states that moto passes through at
 * once, or never shows.
 */
export const inOtherWords = (change: (answer: GateResponse) => GateResponse, times = Infinity): Handling => {
  let asked = 0;
  return async (passing, forward) => {
    const answer = await forward();
    return isLook(passing) && (asked += 1) <= times ? change(answer) : answer;
  };
};

export const isLook = (passing: GateRequest): boolean =>
  passing.to === 'ec2' && actionOf(passing) === 'DescribeInstances';

const replaced =
  (pattern: RegExp, by: string) =>
  (answer: GateResponse): GateResponse => {
    if (!pattern.test(answer.body)) throw new Error(`EC2 says nothing like ${pattern}`);
    return { ...answer, body: answer.body.replaceAll(pattern, by) };
  };

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html */
export const inState = (code: number, name: string) =>
  replaced(
    /<instanceState>.*?<\/instanceState>/gs,
    `<instanceState><code>${code}</code><name>${name}</name></instanceState>`,
  );

/** https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html */
export const forReason = (code: string) =>
  replaced(/<stateReason>\s*<code>[^<]*<\/code>/g, `<stateReason><code>${code}</code>`);

export const withoutLaunchTime = replaced(/<launchTime>[^<]*<\/launchTime>/g, '');

/**
 * Answers as EC2 does in another account or region.
 * https://docs.aws.amazon.com/ec2/latest/devguide/errors-overview.html
 */
export const unknownHere = ({ headers }: GateResponse): GateResponse => ({
  status: 400,
  headers,
  body: '<Response><Errors><Error><Code>InvalidInstanceID.NotFound</Code><Message>not known here</Message></Error></Errors><RequestID>elsewhere</RequestID></Response>',
});
