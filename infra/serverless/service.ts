/** What our plugins use of the `serverless` command (osls 4); https://github.com/oss-serverless/osls has the rest. */

export interface FunctionConfig {
  handler: string;
  readonly name: string;
  package?: { readonly patterns?: readonly string[]; readonly artifact?: string };
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

interface Service {
  readonly service: string;
  readonly provider: { compiledCloudFormationTemplate: Template; readonly name: string; readonly stage?: string };
  package: Readonly<Record<string, unknown>>;
  readonly getAllFunctions: () => readonly string[];
  readonly getFunction: (name: string) => FunctionConfig;
}

interface Provider {
  readonly getStage: () => string;
  /** For clients of the AWS SDK: the region and credentials of this command. */
  readonly getAwsSdkV3Config: () => Promise<object>;
}

export interface Serverless {
  readonly serviceDir: string;
  readonly service: Service;
  readonly processedInput: { readonly commands: readonly string[]; readonly options: Options };
  readonly getProvider: (name: 'aws') => Provider;
  /** For a cloud that it knows nothing about. */
  readonly setProvider: (name: string, provider: object) => void;
  readonly configSchemaHandler: { readonly defineProvider: (name: string, schema: object) => void };
  readonly classes: { readonly Error: new (message: string) => Error };
}

export interface Options {
  readonly stage?: string;
  readonly region?: string;
  readonly function?: string;
  readonly param?: readonly string[];
  readonly 'force-remove'?: boolean;
  readonly preview?: boolean;
  /** Where a package is written to. */
  readonly package?: string;
  /** What a function is invoked with, and the file of it. */
  readonly data?: string;
  readonly path?: string;
}

export interface Writers {
  readonly log: { readonly notice: (text: string) => void; readonly warning: (text: string) => void };
  /** For what a command was asked for, on standard output. */
  readonly writeText?: (text: string) => void;
}

export type Hooks = Readonly<Record<string, () => void | Promise<void>>>;
