import { checkParameters } from './check-parameters.ts';
import type { Hooks, Serverless } from './service.ts';
import { templateValues, type TemplateValues } from './template-values.ts';
import { fromCommandLine, fromFile } from './written.ts';

const DEFAULTS = 'infra/aws/parameters.yml';
/** The longest name, of a role, has 64 characters; a region and `cloudfence` and `on-event` take up to 40 of them. */
const LONGEST_STAGE = 20;

interface Stage {
  readonly faults: readonly string[];
  readonly values: TemplateValues;
}

const stageNamed = (stage: string, { serviceDir, service, processedInput }: Serverless): Stage => {
  const defaults = fromFile(serviceDir, DEFAULTS);
  const written = { ...defaults, ...fromFile(serviceDir, `stages/${stage}.yml`), ...fromCommandLine(processedInput.options.param ?? []) };
  const checked = checkParameters(written);
  const tooLong = stage.length > LONGEST_STAGE ? [`stage: "${stage}" is longer than ${LONGEST_STAGE} characters`] : [];
  // With faults nothing is deployed; the defaults stand in, so that all of them can be said at once and at the end.
  const parameters = checked.parameters ?? checkParameters(defaults).parameters;
  if (parameters === null) throw new Error(`${DEFAULTS} is broken: ${checkParameters(defaults).faults.join('; ')}`);
  return {
    faults: [...tooLong, ...checked.faults],
    values: templateValues(`${service.service}-${stage}`, stage, checked, parameters),
  };
};

interface Asked {
  readonly address: string;
  readonly resolveVariable: (variable: string) => Promise<unknown>;
}

/** A plugin of `serverless`: `${cloudfence:name}`, and the check that lets no broken configuration be packaged. */
export default function parameters(serverless: Serverless): object {
  let stage: Stage | null = null;
  const resolve = async ({ address, resolveVariable }: Asked): Promise<{ readonly value: unknown }> => {
    stage ??= stageNamed(String(await resolveVariable('sls:stage')), serverless);
    if (!(address in stage.values)) throw new Error(`there is no \${cloudfence:${address}}`);
    return { value: stage.values[address] };
  };
  const refuseFaults = (): void => {
    const faults = stage?.faults ?? [];
    if (faults.length === 0) return;
    throw new serverless.classes.Error(`nothing was packaged or deployed, because the parameters cannot be used:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
  };
  const hooks: Hooks = { 'before:package:cleanup': refuseFaults, 'before:package:function:package': refuseFaults, 'before:deploy:function:initialize': refuseFaults };
  return { configurationVariablesSources: { cloudfence: { resolve } }, hooks };
}
