// Declaring an extension: its settings, the resources of the app, and the parts that `setup` returns.
export type { RecordAction, RecordEvent, SentEvent } from '../declare/events.ts';
export { emittedActionsOf } from '../declare/events.ts';
export type { Extension, ExtensionHost, ExtensionJob, FeatureParts } from '../declare/extension.ts';
export type { AnyField, FieldSpec, Fields } from '../declare/field.ts';
export { Field } from '../declare/field.ts';
export { gatewaysByName, namesOfGateway } from '../declare/gateways.ts';
export type { Host } from '../declare/host.ts';
export { mergeParts } from '../declare/merge-parts.ts';
export { pluralName, snakeCase, toWords } from '../declare/naming.ts';
export type { OnDelete } from '../declare/relation.ts';
export { ReverseRelation } from '../declare/relation.ts';
export type {
  Action,
  AnyResource,
  ExtensionResourceOptions,
  HookContext,
  Hooks,
  Resource,
  ResourceOptions,
  ScopeArguments,
  ScopeFilter,
} from '../declare/resource.ts';
export { ACTIONS, defineResource } from '../declare/resource.ts';
export type { ResourceIcon } from '../declare/resource-icon.ts';
export { ConfigErrors, StartupError } from '../platform/helpers/config-errors.ts';
export { suggestKnownNames } from '../platform/helpers/did-you-mean.ts';
export type { DurationText } from '../platform/helpers/duration.ts';
export { DAY_MS, HOUR_MS, MINUTE_MS, parseDuration } from '../platform/helpers/duration.ts';
export { durationSetting, lifetimeSetting } from '../platform/helpers/duration-setting.ts';
export { findMissingPackage } from '../platform/helpers/optional-package.ts';
export { warnOfFormerName } from '../platform/settings/former-names.ts';
export { f } from '../records/fields/f.ts';
export { fieldTypeOf } from '../records/fields/field-type.ts';
export { createDefaultValue } from '../records/fields/missing-values.ts';
export { isFreeTextField, isPersonalField, isPersonalFieldName } from '../records/fields/personal-data.ts';
export { findFileRules } from '../records/fields/types/file.ts';
export { ownerFieldOf } from '../records/schema/compile.ts';
export { defineExtension } from './define-extension.ts';
export { compiledPolicySettingSchema, policySettingSchema, wholeNumberSettingSchema } from './setting-schemas.ts';
