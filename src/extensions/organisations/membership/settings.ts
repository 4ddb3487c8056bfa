import { z } from 'zod';
import { roleNameError } from '../../../declare/policy.ts';
import {
  allowsEveryRecord,
  compiledPolicySettingSchema,
  type Fields,
  getOrganisationRole,
  invitationTtlSetting,
  invitationUrlSetting,
  type Policy,
  policySettingSchema,
  type Viewer,
  wholeNumberSettingSchema,
} from '../../../extension/index.ts';

const MAX_ROLES = 20;
const ROLES_ERROR = `must be a list of 1 to ${MAX_ROLES} role names, from the most to the least powerful`;

const roleName = z.string({ error: ROLES_ERROR }).superRefine((name, context) => {
  // `owner` has a special meaning only in policies of resources; here every word stands after `org:`.
  const error = name === 'owner' ? undefined : roleNameError(name);
  if (error !== undefined) context.addIssue({ code: 'custom', message: error });
});

const declaredFields = z.custom<Fields>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  "must be an object of fields, such as { plan: f.enum(['free', 'paid']) }",
);

/** The settings of the extension. */
export const organisationSettings = z
  .strictObject({
    /** The roles of members, from the most to the least powerful. The first is that of owners; a role includes all later ones. */
    roles: z
      .array(roleName, { error: ROLES_ERROR })
      .min(1, ROLES_ERROR)
      .max(MAX_ROLES, ROLES_ERROR)
      .refine((roles) => new Set(roles).size === roles.length, { error: 'must not contain a role twice' })
      .default(['owner', 'admin', 'member']),
    /** The least powerful role that manages members, invitations and the organisation itself. Default: `admin`, or the first role. */
    manageRole: z.string().optional(),
    /** The users that can create organisations. */
    createPolicy: policySettingSchema.default('authenticated'),
    /** The users that can reach every organisation without being a member, such as support staff. Only roles count. */
    globalPolicy: compiledPolicySettingSchema.prefault('none'),
    /** Maximum organisations of which a user is a member. */
    maxOrganisationsPerUser: wholeNumberSettingSchema(10_000).default(50),
    /** Maximum members of an organisation. */
    maxMembers: wholeNumberSettingSchema(100_000).default(1000),
    /** Slugs that no organisation can have, in addition to the built-in ones. */
    reservedSlugs: z.array(z.string()).default([]),
    /** Whether changes of organisations and memberships are recorded in the audit trail; needs the extension `audit()`. */
    audit: z.boolean().default(false),
    /** Further fields of organisations. */
    fields: declaredFields.prefault({}),
    invitations: z
      .strictObject({
        /** How long an invitation works. */
        ttl: invitationTtlSetting,
        /** The page that accepts an invitation. Default `${APP_URL}/organisation-invitation`. */
        url: invitationUrlSetting,
        /** Maximum pending invitations of an organisation. */
        maxPending: wholeNumberSettingSchema(10_000).default(100),
        /** Maximum invitations of an organisation in 24 hours, resent ones included. */
        perDay: wholeNumberSettingSchema(10_000).default(100),
      })
      .prefault({}),
  })
  .superRefine(({ roles, manageRole }, context) => {
    if (manageRole === undefined || roles.includes(manageRole)) return;
    context.addIssue({
      code: 'custom',
      path: ['manageRole'],
      message: `must be one of the roles: ${roles.join(', ')}`,
    });
  });

/** The settings of the extension as a project writes them. All are optional. */
export type OrganisationOptions = z.input<typeof organisationSettings> & {
  /** @deprecated Use `globalPolicy`. */
  globalAccess?: Policy;
  /** @deprecated Use `maxOrganisationsPerUser`. */
  maxPerUser?: number;
  invitations?: {
    /** @deprecated Use `ttl`. */
    expiresDays?: number;
  };
};

/** The checked settings. */
export type OrganisationSettings = z.output<typeof organisationSettings>;

/** The roles of members, in order of power. */
export interface OrganisationRoles {
  all: readonly string[];
  /** The role of owners. */
  owner: string;
  /** The role that a membership gets unless it names another one: the least powerful. */
  least: string;
  /** A role and every role that includes it. */
  including(role: string): readonly string[];
  /** Whether one role has at least the power of another. */
  includes(role: unknown, other: string): boolean;
  /** Whether a role manages members and the organisation. */
  manages(role: unknown): boolean;
  /** The roles that manage. */
  managing: readonly string[];
}

/** Creates the order of the roles of the settings. */
export function createRoles({
  roles,
  manageRole,
}: Pick<OrganisationSettings, 'roles' | 'manageRole'>): OrganisationRoles {
  const including = (role: string) => roles.slice(0, roles.indexOf(role) + 1);
  const manager = manageRole ?? (roles.includes('admin') ? 'admin' : roles[0]!);
  const managing = including(manager);
  return {
    all: roles,
    owner: roles[0]!,
    least: roles.at(-1)!,
    including,
    includes: (role, other) => including(other).includes(role as string),
    manages: (role) => managing.includes(role as string),
    managing,
  };
}

/** Whether a user reaches every organisation without being a member. */
export function hasGlobalAccess(
  { globalPolicy }: Pick<OrganisationSettings, 'globalPolicy'>,
  user: Viewer | undefined,
): boolean {
  // An organisation has no role of the app, whatever else the policy allows.
  if (user === undefined || getOrganisationRole(user) !== undefined) return false;
  return globalPolicy.roles.length > 0 && allowsEveryRecord(globalPolicy, user);
}
