import { isAccountActive } from '../declare/actor.ts';
import type { ExtensionHost, FeatureParts } from '../declare/extension.ts';
import type { Host } from '../declare/host.ts';
import { mergeParts } from '../declare/merge-parts.ts';
import type { JobRuntime } from '../jobs/index.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import { StartupError } from '../platform/helpers/config-errors.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { checkReplacementRoutes } from '../records/configuration/deprecation-errors.ts';
import { checkExtensionRoutes } from '../records/configuration/route-errors.ts';
import { withArchives } from '../records/index.ts';
import { findEncryptedColumns } from '../records/store/codec.ts';
import {
  checkExtensionApis,
  checkExtensionJobs,
  checkOperationIds,
  isFeatureParts,
  mergeMailComposers,
} from './config-errors.ts';
import type { Core } from './core.ts';
import type { Declarations } from './declarations.ts';
import { createJobCounter, createJobsOfExtension } from './extension-jobs.ts';
import { createIdempotencyParts } from './http/idempotency/index.ts';
import { createOpenApiDocument, openApiRoutes } from './openapi/document.ts';

/** The combined features of an app. */
interface Features {
  /** The merged parts: core features first, then extensions in order. */
  parts: FeatureParts;
  mails: Readonly<Record<string, MailComposer>>;
  /** The API that each extension offers to the project's code, with the extension's name. */
  apis: readonly { name: string; api: object }[];
  /** Creates the OpenAPI document of the app, whether or not the app serves it. */
  createOpenApiDocument: () => Record<string, unknown>;
}

/**
 * Sets up the features of an app.
 *
 * @param diagnose called only when all features are set up
 * @returns undefined if the parts of extensions have errors, which are then reported
 */
export function setUpFeatures(
  core: Core,
  { resources, extensions, members = {} }: Declarations,
  errors: ConfigErrors,
  diagnose: ExtensionHost['diagnose'],
): Features | undefined {
  const { platform, compiled, records, files, push, mail, jobs: backgroundJobs, accounts, host } = core;
  const { settings } = platform;
  // The merged parts are available once all features are set up; until then these functions return empty lists.
  let mergedParts: FeatureParts = {};
  const routes = () => mergedParts.routes ?? [];
  const authenticators = () => mergedParts.authenticators ?? [];
  let document: Record<string, unknown> | undefined;
  const extensionHost = {
    ...host,
    accounts: accounts?.api,
    routes,
    pages: () => mergedParts.pages ?? [],
    consoleTabs: () => mergedParts.consoleTabs ?? [],
    accountPanels: () => mergedParts.accountPanels ?? [],
    accountSections: () => mergedParts.accountSections ?? [],
    authenticators,
    auditTrail: () => mergedParts.auditTrail,
    userData: () => mergedParts.userData ?? [],
    diagnose,
    openApiDocument: () => {
      document ??= createDocument();
      return document;
    },
  };
  const createDocument = () =>
    createOpenApiDocument({
      routes: routes(),
      authenticators: authenticators(),
      sent: mergedParts.sent ?? [],
      resources: compiled,
      settings,
    });
  const jobCounter = createJobCounter(platform.metrics);
  const features = extensions.map((extension) => {
    const { name } = extension;
    const jobs = createJobsOfExtension(platform, name, jobCounter);
    const parts = setUpExtension(
      () => extension.setup({ ...extensionHost, jobs: jobs.api }),
      errors.at(`extension "${name}"`),
    );
    return { name, parts, jobs };
  });
  // Jobs, e-mails and APIs belong to one extension each; accounts run sign-in steps one by one; dependent pages are created below.
  const notMerged = {
    jobs: undefined,
    mails: undefined,
    api: undefined,
    signInStep: undefined,
    dependentPages: undefined,
  };
  const mergeableParts = features.map(({ parts }) => ({ ...parts, ...notMerged }));
  const signInSteps = features.flatMap(({ parts }) => parts.signInStep ?? []);
  const extensionParts = mergeParts(...mergeableParts);
  const coreParts = mergeParts(
    { routes: records.routes, encrypted: findEncryptedColumns(withArchives(compiled)) },
    files.parts,
    push.parts,
    mail.parts,
    backgroundJobs.createParts(createJobRuntime(host)),
    createIdempotencyParts(platform),
    { routes: openApiRoutes(settings, createDocument) },
    accounts?.createFeatureParts({ ...extensionParts, signInSteps }) ?? {},
  );
  mergedParts = mergeParts(coreParts, extensionParts);
  const pagesByExtension = features.map(({ name, parts }) => ({
    name,
    routes: [...(parts.pages ?? []), ...(parts.dependentPages?.(errors.at(`extension "${name}"`)) ?? [])],
  }));
  mergedParts.pages = [...(coreParts.pages ?? []), ...pagesByExtension.flatMap(({ routes: pages }) => pages)];
  core.setEventPublisher(mergedParts.publishEvent);
  const mails = mergeMailComposers(features, coreParts.mails ?? {}, errors);
  const routesByExtension = features.map(({ name, parts }) => ({ name, routes: parts.routes ?? [] }));
  checkExtensionRoutes('route', routesByExtension, coreParts.routes ?? [], errors);
  checkExtensionRoutes('page', pagesByExtension, coreParts.pages ?? [], errors);
  checkReplacementRoutes(resources, { routes: routes(), pages: mergedParts.pages ?? [] }, errors);
  for (const extension of features) checkExtensionJobs(extension, errors);
  checkExtensionApis(features, members, errors);
  checkOperationIds(routes(), errors);
  mergedParts.checkConfig?.(errors);
  if (errors.lines.length > 0) return undefined;
  return {
    parts: mergeParts(mergedParts, ...features.flatMap(({ parts, jobs }) => jobs.createWorkerFeatures(parts.jobs))),
    mails,
    apis: features.flatMap(({ name, parts: { api } }) => (api === undefined ? [] : [{ name, api }])),
    createOpenApiDocument: createDocument,
  };
}

/** Returns what runs of jobs get. */
function createJobRuntime({ service, transaction, push, senders, users }: Host): JobRuntime {
  return {
    context: { service, transaction, push, mail: senders.mail, webhooks: senders.webhooks },
    async loadUser(id) {
      const [user] = (await users?.load([id])) ?? [];
      return user !== undefined && isAccountActive(user) ? user : undefined;
    },
  };
}

/** Runs the `setup` of an extension. Returns its parts, or no parts after reporting that it failed. */
function setUpExtension(setup: () => unknown, errors: ConfigErrors): FeatureParts {
  try {
    const parts = setup();
    if (isFeatureParts(parts)) return parts;
    errors.report('setup(host) must return an object with its parts, not a promise');
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    for (const line of error.errors) errors.report(line);
  }
  return {};
}
