// The list of commands. A command line names one; only that one's module is loaded, so that
// `ogw --help` and a script's call start without waiting for the console, the gateway or zod.

import type { Command } from 'commander'
import type { CliContext } from './context.ts'

export interface CommandEntry {
  name: string
  /** One line for `ogw --help`. */
  summary: string
  group: 'Look' | 'Steer' | 'Run' | 'Set up'
  /** Not listed: called by ogw itself. */
  hidden?: true
  /** The subcommand that a bare `ogw NAME` means. */
  defaultSubcommand?: string
  load(context: CliContext): Promise<Command>
}

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'status',
    summary: 'show what runs and what is wrong',
    group: 'Look',
    load: async (context) => (await import('./commands/status.ts')).statusCommand(context),
  },
  {
    name: 'workers',
    summary: 'see workers, drain and probe them',
    group: 'Steer',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/workers.ts')).workersCommand(context),
  },
  {
    name: 'placement',
    summary: 'say which models may run on which workers',
    group: 'Steer',
    defaultSubcommand: 'show',
    load: async (context) => (await import('./commands/placement.ts')).placementCommand(context),
  },
  {
    name: 'models',
    summary: 'see, load, unload, pull and delete models',
    group: 'Steer',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/models.ts')).modelsCommand(context),
  },
  {
    name: 'keys',
    summary: 'make, list and revoke the keys of clients',
    group: 'Steer',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/keys.ts')).keysCommand(context),
  },
  {
    name: 'tenants',
    summary: 'see tenants and set their limits',
    group: 'Steer',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/tenants.ts')).tenantsCommand(context),
  },
  {
    name: 'credits',
    summary: 'see, grant and reset credits',
    group: 'Steer',
    defaultSubcommand: 'show',
    load: async (context) => (await import('./commands/credits.ts')).creditsCommand(context),
  },
  {
    name: 'usage',
    summary: 'sum up the tokens that were used',
    group: 'Look',
    load: async (context) => (await import('./commands/usage.ts')).usageCommand(context),
  },
  {
    name: 'requests',
    summary: 'see and cancel requests',
    group: 'Steer',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/requests.ts')).requestsCommand(context),
  },
  {
    name: 'explain',
    summary: 'say where a request would run now, and why',
    group: 'Look',
    load: async (context) => (await import('./commands/explain.ts')).explainCommand(context),
  },
  {
    name: 'events',
    summary: 'show what happened lately, and follow it',
    group: 'Look',
    load: async (context) => (await import('./commands/events.ts')).eventsCommand(context),
  },
  {
    name: 'audit',
    summary: 'list the changes that operators made',
    group: 'Look',
    load: async (context) => (await import('./commands/audit.ts')).auditCommand(context),
  },
  {
    name: 'storage',
    summary: 'list the state files',
    group: 'Look',
    load: async (context) => (await import('./commands/storage.ts')).storageCommand(context),
  },
  {
    name: 'doctor',
    summary: 'look for what is wrong and say what to do',
    group: 'Look',
    load: async (context) => (await import('./commands/doctor.ts')).doctorCommand(context),
  },
  {
    name: 'health',
    summary: 'say whether the gateway is healthy',
    group: 'Look',
    load: async (context) => (await import('./commands/health.ts')).healthCommand(context),
  },
  {
    name: 'serve',
    summary: 'run the gateway',
    group: 'Run',
    load: async ({ io }) => (await import('./commands/serve.ts')).serveCommand(io),
  },
  {
    name: 'demo',
    summary: 'run the gateway in front of simulated workers',
    group: 'Run',
    load: async ({ io }) => (await import('./commands/demo.ts')).demoCommand(io),
  },
  {
    name: 'simulate-worker',
    summary: 'run one simulated Ollama',
    group: 'Run',
    load: async () => (await import('./commands/simulate-worker.ts')).simulateWorkerCommand(),
  },
  {
    name: 'tui',
    summary: 'watch and steer the running gateway in this terminal',
    group: 'Run',
    load: async (context) => (await import('./commands/tui.ts')).tuiCommand(context),
  },
  {
    name: 'admin-proxy',
    summary: 'bridge stdin and stdout to the admin socket',
    group: 'Run',
    load: async (context) => (await import('./commands/admin-proxy.ts')).adminProxyCommand(context),
  },
  {
    name: 'config',
    summary: 'check, show and reload the config',
    group: 'Set up',
    load: loadConfigCommand,
  },
  {
    name: 'backup',
    summary: 'make a backup of config and state, and restore one',
    group: 'Set up',
    load: async (context) => (await import('./commands/backup.ts')).backupCommand(context),
  },
  {
    name: 'context',
    summary: 'name gateways on this and other machines',
    group: 'Set up',
    defaultSubcommand: 'list',
    load: async (context) => (await import('./commands/context.ts')).contextCommand(context),
  },
  {
    name: 'completion',
    summary: 'print a completion script for your shell',
    group: 'Set up',
    load: async (context) => (await import('./commands/completion.ts')).completionCommand(context),
  },
  {
    name: '__complete',
    summary: 'print what could stand in place of the last word',
    group: 'Set up',
    hidden: true,
    load: async (context) => (await import('./commands/complete.ts')).completeCommand(context),
  },
]

/** Its file commands need no gateway; `reload` does, and comes from a module of its own. */
async function loadConfigCommand(context: CliContext): Promise<Command> {
  const { configCommand } = await import('./commands/config.ts')
  const { configReloadCommand } = await import('./commands/config-reload.ts')
  const { addExamples } = await import('./options.ts')
  return addExamples(configCommand(context.io).addCommand(configReloadCommand(context)), [
    ['ogw config check', 'every problem at once'],
    ['ogw config show', 'what would run, secrets masked'],
    ['ogw config reload', 'make the running gateway read it again'],
  ])
}
