import { readEnvironment } from '../../config/environment.ts';
import { releasedValues, PLACEHOLDER } from './released-stack.ts';
import { checkParameters } from './parameter-schema.ts';
import type { Hooks, Serverless } from './service.ts';
import { templateValues, type TemplateValues } from './template-values.ts';
import { parametersFromCommandLine, parametersFromFile, type RawParameters } from './deployer.ts';

export const DEFAULTS = 'infra/aws/parameters.yml';
/**
 * The longest name, that of a role, has 64 characters. A region, `cloudfence`, and `on-event` take up to 40 of them.
 */
const LONGEST_STAGE = 20;

/**
 * Checks the region. An install in the wrong region would be a second install, and it would be unclear which one
 * fences.
 */
const regionFaults = (stage: string, written: unknown, asked: string | undefined): readonly string[] => {
  if (typeof written === 'string' && asked !== undefined && asked !== written) {
    return [
      `region: stages/${stage}.yml sets ${written}, but --region sets ${asked}: omit --region, or use a ` +
        'separate stage for the other region',
    ];
  }
  const { region } = readEnvironment();
  return written === null && asked === undefined && region === null
    ? [`region: no region is set: add it to stages/${stage}.yml, such as \`region: eu-west-1\``]
    : [];
};

interface StageParameters {
  /** Faults that stop every command that calls AWS. */
  readonly regionFaults: readonly string[];
  readonly faults: readonly string[];
  readonly values: TemplateValues;
}

const readStage = (stage: string, { serviceDir, service, processedInput }: Serverless): StageParameters => {
  const defaults = parametersFromFile(serviceDir, DEFAULTS);
  const written: RawParameters = {
    ...defaults,
    ...parametersFromFile(serviceDir, `stages/${stage}.yml`),
    ...parametersFromCommandLine(processedInput.options.param ?? []),
  };
  const checked = checkParameters(written);
  const tooLong = stage.length > LONGEST_STAGE ? [`stage: "${stage}" is longer than ${LONGEST_STAGE} characters`] : [];
  // With faults nothing is deployed. Uses the defaults, so that the run can report all faults together at the end.
  const parameters = checked.parameters ?? checkParameters(defaults).parameters;
  if (parameters === null) throw new Error(`${DEFAULTS} is not valid: ${checkParameters(defaults).faults.join('; ')}`);
  const misplaced = regionFaults(stage, written['region'] ?? null, processedInput.options.region);
  return {
    regionFaults: misplaced,
    faults: [...tooLong, ...misplaced, ...checked.faults],
    values: {
      ...templateValues(`${service.service}-${stage}`, stage, checked, parameters),
      ...(stage === PLACEHOLDER.stage && releasedValues),
    },
  };
};

interface VariableRequest {
  readonly address: string;
  readonly resolveVariable: (variable: string) => Promise<unknown>;
}

/** A plugin of `serverless`: it resolves `${cloudfence:name}`, and stops the packaging of a broken configuration. */
export default function parameters(serverless: Serverless): object {
  let stage: StageParameters | null = null;
  const resolve = async ({ address, resolveVariable }: VariableRequest): Promise<{ readonly value: unknown }> => {
    stage ??= readStage(String(await resolveVariable('sls:stage')), serverless);
    if (!(address in stage.values)) throw new Error(`the variable \${cloudfence:${address}} does not exist`);
    return { value: stage.values[address] };
  };
  const refuse = (what: string, faults: readonly string[]): void => {
    if (faults.length > 0)
      throw new serverless.classes.Error(
        `${what}, because the parameters are not valid:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
      );
  };
  const refuseFaults = (): void => refuse('Cloudfence packaged and deployed nothing', stage?.faults ?? []);
  const refuseElsewhere = (): void => refuse('Cloudfence did nothing', stage?.regionFaults ?? []);
  const elsewhere = [
    'invoke:invoke',
    'logs:logs',
    'info:info',
    'remove:remove',
    'rollback:initialize',
    'deploy:list:log',
    'metrics:metrics',
  ];
  const hooks: Hooks = {
    'before:package:cleanup': refuseFaults,
    'before:package:function:package': refuseFaults,
    'before:deploy:function:initialize': refuseFaults,
    ...Object.fromEntries(elsewhere.map((when) => [`before:${when}`, refuseElsewhere])),
  };
  return { configurationVariablesSources: { cloudfence: { resolve } }, hooks };
}
