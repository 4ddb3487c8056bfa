/** Rows about users outside of resources: sessions, devices, keys, endpoints. */
export interface UserData {
  /** In camelCase and the plural: names its file in an export and its line in a report: `apiKeys`. */
  name: string;
  /** What it holds, for people. */
  description: string;
  /** The tables that it stands in, for the report. */
  tables?: readonly string[];
  /** Why some of it stays when it is erased, for people; left out: nothing does. */
  kept?: string;
  /** All that is held about a user, as an export tells it: no secrets, no hashes. A page at a time from the database. */
  rows(userId: string): AsyncIterable<Record<string, unknown>>;
  /** Removes it, or makes it nobody's, in bounded batches. Does no harm the second time. Gives how many rows. */
  erase(userId: string): Promise<number>;
}
