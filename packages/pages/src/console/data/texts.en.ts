/** The texts of the data that all its pages share. */
export const en = {
  noResources: {
    title: 'This app declares no resources yet',
    intro:
      'A resource is a kind of record: declare its fields, and it has a table, an API and a list here. Add one to your app:',
    code: 'Declaration of a resource',
  },
  notLoaded: 'The description of the app is not loaded yet.',
  findResource: 'Find a resource',
  noResource: 'No resource has this name.',
  resources: 'Resources',
  unknownResource: (name: string) => `There is no resource “${name}”`,
  showResources: 'Show the resources of this app',
  noValue: 'No value',
  notSet: 'not set',
  yes: 'Yes',
  no: 'No',
  systemFields: {
    id: { label: 'Id', description: 'The id of the record.' },
    createdAt: { label: 'Created', description: 'When the record was created.' },
    updatedAt: { label: 'Last changed', description: 'When the record was last changed.' },
    deletedAt: { label: 'Deleted', description: 'When the record was deleted.' },
  },
};

export type Texts = typeof en;
