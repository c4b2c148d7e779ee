/** What our plugins use of the `serverless` command (osls 4); https://github.com/oss-serverless/osls has the rest. */

export interface FunctionConfig {
  handler: string;
  readonly name: string;
  package?: { readonly patterns: readonly string[] };
}

export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: unknown;
  readonly DependsOn?: string | readonly string[];
  readonly Metadata?: unknown;
}

/** A CloudFormation template. */
export interface Template {
  Resources: Readonly<Record<string, TemplateResource>>;
}

export interface Service {
  readonly service: string;
  readonly provider: { compiledCloudFormationTemplate: Template };
  package: Readonly<Record<string, unknown>>;
  readonly getAllFunctions: () => readonly string[];
  readonly getFunction: (name: string) => FunctionConfig;
}

export interface Provider {
  readonly getStage: () => string;
  /** For clients of the AWS SDK: the region and credentials of this command. */
  readonly getAwsSdkV3Config: () => Promise<object>;
}

export interface Serverless {
  readonly serviceDir: string;
  readonly service: Service;
  readonly processedInput: { readonly commands: readonly string[]; readonly options: Options };
  readonly getProvider: (name: 'aws') => Provider;
  readonly classes: { readonly Error: new (message: string) => Error };
}

export interface Options {
  readonly stage?: string;
  readonly function?: string;
  readonly param?: readonly string[];
  readonly 'force-remove'?: boolean;
}

export interface Writers {
  readonly log: { readonly notice: (text: string) => void; readonly warning: (text: string) => void };
}

export type Hooks = Readonly<Record<string, () => void | Promise<void>>>;
