import type { Action } from './actions.ts';
import { actions } from './actions.ts';
import type { InjectedFailure } from './faults.ts';
import { consumeFault } from './faults.ts';
import { allowAll, type Judge } from './iam/authority.ts';
import { requiredPermissions } from './iam/demands.ts';
import { Ec2Refusal } from './refusal.ts';
import { answerXml, errorXml } from './render.ts';
import type { Ec2World } from './state.ts';
import { nextSerial } from './state.ts';

/** One response. `cut` means that the caller gets no response: the connection breaks, or stays silent. */
export interface Ec2Answer {
  readonly status: number;
  readonly body: string;
  readonly requestId: string;
  readonly cut: 'drop' | 'hang' | null;
}

/**
 * Handles one call of the EC2 Query protocol, if the authority allows it.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/Query-Requests.html
 */
export const handleEc2 = (world: Ec2World, params: URLSearchParams, judge: Judge = allowAll): Ec2Answer => {
  const { ec2 } = world.parts;
  const requestId = `00000000-0000-4000-b000-${nextSerial(ec2).padStart(12, '0')}`;
  const early = consumeFault(ec2, 'before', params);
  if (early) return mishapAnswer(early, requestId);
  const answer = perform(world, params, judge, requestId);
  const late = consumeFault(ec2, 'after', params);
  return late ? mishapAnswer(late, requestId) : answer;
};

const perform = (world: Ec2World, params: URLSearchParams, judge: Judge, requestId: string): Ec2Answer => {
  const name = params.get('Action') ?? '';
  try {
    const action = actionNamed(name);
    judge(requiredPermissions(world, params));
    refuseDryRun(params);
    const tree = action(world, params);
    return { status: 200, body: answerXml(name, requestId, tree), requestId, cut: null };
  } catch (refusal) {
    if (!(refusal instanceof Ec2Refusal)) throw refusal;
    return errorAnswer(refusal.code, refusal.message, refusal.status, requestId);
  }
};

const actionNamed = (name: string): Action => {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (!action) throw new Ec2Refusal('InvalidAction', `The action ${name} is not valid for this web service.`);
  return action;
};

/** A dry run ends here. Before that, EC2 checks only the permission. */
const refuseDryRun = (params: URLSearchParams): void => {
  if (params.get('DryRun') === 'true')
    throw new Ec2Refusal('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
};

const errorAnswer = (code: string, message: string, status: number, requestId: string): Ec2Answer => ({
  status,
  body: errorXml(code, message, requestId),
  requestId,
  cut: null,
});

const mishapAnswer = (mishap: InjectedFailure, requestId: string): Ec2Answer =>
  mishap.kind === 'error'
    ? errorAnswer(mishap.code, `the scenario makes the sandbox answer ${mishap.code}`, mishap.status, requestId)
    : { status: 0, body: '', requestId, cut: mishap.kind };
