import { createInterface } from 'node:readline/promises';
import { EXAMPLES } from './arguments.js';
import { Failure, INTERRUPTED, messageOf } from './failure.js';

/** Asks questions at the terminal, one line each. */
export class Prompts {
  #lines = createInterface({ input: process.stdin, output: process.stdout });
  #ended = new AbortController();

  constructor() {
    // Without this, a question would never be answered after Ctrl-D, and the process would end without a word.
    this.#lines.on('close', () => this.#ended.abort());
    this.#lines.on('SIGINT', () => this.#lines.close());
  }

  /**
   * Asks until the answer is valid.
   *
   * @template T
   * @param {string} question
   * @param {string} byDefault the answer of an empty line
   * @param {(answer: string) => T} read returns the answer's meaning, or throws a Failure that says why it is invalid
   * @returns {Promise<T>}
   * @throws {Failure} if the user ends the input
   */
  async #ask(question, byDefault, read) {
    for (;;) {
      const answer = await this.#readLine(`${question} (${byDefault}): `);
      try {
        return read(answer.trim() || byDefault);
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        console.log(messageOf(error));
      }
    }
  }

  /** @param {string} question */
  async #readLine(question) {
    try {
      return await this.#lines.question(question, { signal: this.#ended.signal });
    } catch {
      throw new Failure('\nCancelled: nothing was created.', INTERRUPTED);
    }
  }

  /**
   * @template T
   * @param {(folder: string) => T} read returns the folder's meaning, or throws a Failure
   * @returns {Promise<T>}
   */
  askFolder(read) {
    return this.#ask('Folder of the app', 'my-app', read);
  }

  /** @returns {Promise<import('./arguments.js').Example>} */
  askExample() {
    const names = /** @type {import('./arguments.js').Example[]} */ (Object.keys(EXAMPLES));
    const choices = names.map((name, i) => `  ${i + 1}  ${name.padEnd(6)} ${EXAMPLES[name]}`);
    return this.#ask(`What does the app start with?\n${choices.join('\n')}\nNumber or name`, '1', (answer) => {
      const chosen = names.find((name, i) => answer === name || answer === String(i + 1));
      if (chosen) return chosen;
      throw new Failure(`There is no "${answer}" to choose.`);
    });
  }

  /** Ends the questions. */
  close() {
    this.#lines.close();
    // Nothing else reads the input, so it must not keep the process running.
    process.stdin.unref();
  }
}
