import { Failure } from './failure.js';

const NODE_MAJOR = 24;

/** The version of the npm package `node`, which contains a Node. The scripts of an app use it instead of the machine's. */
const NODE_PACKAGE = '^24.21.0';

/** The systems that the npm package `node` supports, as platform and architecture. */
const PACKAGED_FOR = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-x64', 'win32-x64'];

/** Returns whether this Linux has another C library than the packaged Node needs. */
function isMusl() {
  if (process.platform !== 'linux') return false;
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return header.glibcVersionRuntime === undefined;
}

/**
 * Returns the version of the npm package `node` that an app needs on this machine; undefined if the machine's Node is new enough.
 *
 * @returns {string | undefined}
 * @throws {Failure} if there is no package for this system
 */
export function chooseNodePackage() {
  const { node } = process.versions;
  if (Number(node.split('.')[0]) >= NODE_MAJOR) return undefined;
  const system = `${process.platform}-${process.arch}`;
  if (PACKAGED_FOR.includes(system) && !isMusl()) return NODE_PACKAGE;
  throw new Failure(
    `Belfry needs Node ${NODE_MAJOR} or newer, but this is Node ${node}. Install a newer Node from https://nodejs.org, then run the command again.`,
  );
}
