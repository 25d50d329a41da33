
import json, os, re, subprocess, sys, threading, multiprocessing
words = {str(i): list(range(i % 50)) for i in range(20000)}
text = json.dumps(words)
print(len(text), json.loads(text) == words, len(re.findall('99', text)))
results = []
def work(n): results.append(sum(len(str(i)) for i in range(n)))
threads = [threading.Thread(target=work, args=(20000 + i,)) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(results))
print(subprocess.run(['echo', 'hello'], capture_output=True).stdout)
def square(n):
    words['7'].append(n)
    return n * n, len(words['7'])
if __name__ == '__main__':
    with multiprocessing.get_context('fork').Pool(2) as pool: print([a for a, b in pool.map(square, range(10))])
    pid = os.fork()
    if pid == 0:
        words.clear(); del text
        os._exit(len(words))
    print(os.waitpid(pid, 0)[1], len(words), len(text), len(words['7']))
