// `ogw simulate-worker`: one simulated Ollama worker in the foreground.

import { Command } from 'commander'
import { runSimulatedWorker, type SimulateWorkerArgs } from '../simulator/main.ts'

export function simulateWorkerCommand(): Command {
  return new Command('simulate-worker')
    .description('run a simulated Ollama worker, to try things without a GPU')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 takes any free one', '0')
    .option('--version-profile <version>', 'the Ollama version to be', '0.33.0')
    .option('--models <list>', 'installed models: names with commas between, or a .json file')
    .option('--slots <n>', 'requests that run at once on a loaded model', '1')
    .option('--max-loaded <n>', 'models loaded at once', '3')
    .option('--max-queue <n>', 'requests that may wait for a load', '512')
    .option('--load-ms <ms>', 'time a load takes', '400')
    .option('--prefill-ms <ms>', 'time before the first word', '50')
    .option('--token-ms <ms>', 'time between two words', '20')
    .option('--tokens <n>', 'words of an answer', '60')
    .option('--keep-alive-ms <ms>', 'how long an idle model stays loaded', '300000')
    .option('--default-context <tokens>', 'context of a request that names none')
    .option('--seed <n>', 'the same seed gives the same words', '1')
    .option('--control', 'a second listener for /_sim/ alone, which works while the worker refuses')
    .action((args: SimulateWorkerArgs) => runSimulatedWorker(args))
    .addHelpText(
      'after',
      `
Examples:
  ogw simulate-worker --port 11434                      at Ollama's own port
  ogw simulate-worker --models qwen3:8b,gemma4:12b      with these models
`,
    )
}
