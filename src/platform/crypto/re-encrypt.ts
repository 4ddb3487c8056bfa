import type { EncryptedPlace, Replacement, StoredValue } from './encrypted-place.ts';
import { DecryptionError, type Keyring } from './keyring.ts';

/** What happens while values are re-encrypted. */
export interface Watching {
  /** Runs before the first value is replaced. */
  beforeWriting(): Promise<void>;
  replaced(place: EncryptedPlace, values: number): void;
  /** This value stays as it is. */
  undecryptable(value: StoredValue): void;
  /** Whether to stop before the next batch. */
  isStopped(): boolean;
}

function reEncrypted(keyring: Keyring, values: readonly StoredValue[], watching: Watching): Replacement[] {
  return values.flatMap((value) => {
    const context = value.column.context(value.id);
    try {
      return [{ ...value, next: keyring.encrypt(keyring.decrypt(value.text, context), context) }];
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      watching.undecryptable(value);
      return [];
    }
  });
}

/**
 * Goes once through a place and puts what is not under the newest key under it, batch by batch. What somebody changes meanwhile
 * is left to the next time.
 */
export async function reEncrypt(place: EncryptedPlace, keyring: Keyring, watching: Watching): Promise<void> {
  let stretch = await place.whole();
  while (stretch !== undefined && !watching.isStopped()) {
    const values = await place.stale(stretch, keyring.keyIds[0]!);
    const replacements = reEncrypted(keyring, values, watching);
    if (replacements.length > 0) {
      await watching.beforeWriting();
      watching.replaced(place, await place.replace(replacements));
    }
    const at: string | undefined = values.length > 0 ? values.at(-1)!.row : await place.skip(stretch);
    stretch = at === undefined ? undefined : { ...stretch, after: at };
  }
}
