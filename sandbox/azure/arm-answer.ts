/** One response. `cut` means that the caller gets no response: the connection breaks, or stays silent. */
export interface ArmAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly cut: 'drop' | 'hang' | null;
}
