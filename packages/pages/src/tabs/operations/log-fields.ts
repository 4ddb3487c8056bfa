/** The fields of a line. Besides these, it has those that the code of the app has written. */
export interface LogFields {
  /** Left out in a line that was cut. */
  level?: string;
  time?: string;
  msg?: string;
  process?: string;
  requestId?: string;
  method?: string;
  route?: string;
  /** The id of a record. */
  record?: string;
  resource?: string;
  userId?: string;
  status?: number;
  durationMs?: number;
  outcome?: string;
  /** What follows from an attempt to deliver a webhook. */
  decision?: string;
  attempt?: number;
  retryInMs?: number;
  retryAt?: string;
  err?: { message?: string; stack?: string };
  error?: string;
  /** What a unit of work is about. */
  job?: string;
  name?: string;
  mail?: string;
  kind?: string;
  push?: string;
  devices?: number;
  endpoint?: string;
  delivery?: string;
  deliveries?: number;
  user?: string;
  sweep?: string;
  queue?: string;
  rows?: number;
}

/** A line of the log. */
export interface LogLine {
  id: string;
  fields: LogFields;
}
